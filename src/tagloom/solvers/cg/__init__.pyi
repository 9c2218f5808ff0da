from .conjugate import BlockCGResult as BlockCGResult, block_cg as block_cg
from .polynomial import PolynomialInverse as PolynomialInverse, local_order as local_order
from .products import multiply_rows as multiply_rows, one_thread_each as one_thread_each, run_rows as run_rows
