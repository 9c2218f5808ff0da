"""Problems with group penalties: datafits, penalties and block solvers."""
