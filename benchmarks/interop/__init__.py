"""Keywords through other photo programs and back: which of them each program and tagloom read of one another."""
