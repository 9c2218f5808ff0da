from .duplicates import N_BITS as N_BITS, near_duplicates as near_duplicates
from .occasions import bursts as bursts
from .similar import clusters as clusters
