from .columns import GroupColumns as GroupColumns, GroupColumnsResult as GroupColumnsResult
from .datafits import Datafit as Datafit, QuadraticGram as QuadraticGram
from .norms import ColumnGroupL2 as ColumnGroupL2
from .penalties import L21 as L21, MCP as MCP, Norm as Norm, Penalty as Penalty, Radial as Radial, SCAD as SCAD
