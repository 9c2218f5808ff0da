from .app import make_app as make_app
from .server import serve as serve
