from .fisher_score import FisherScore as FisherScore
from .fsnm import FSNM as FSNM
from .gllr import GLLR as GLLR
from .jec import JEC as JEC
from .laprls import LapRLS as LapRLS
from .lapsvm import LapSVM as LapSVM
from .least_squares import RegularizedLeastSquares as RegularizedLeastSquares
from .lpp import LPP as LPP, LPPSVM as LPPSVM
from .m3l import M3L as M3L
from .mkl import MultipleKernelSVM as MultipleKernelSVM
from .neighbor_transfer import NeighborTransfer as NeighborTransfer
from .plsa_words import PLSAWords as PLSAWords
from .propagation import HarmonicPropagation as HarmonicPropagation, LocalGlobalConsistency as LocalGlobalConsistency
from .sbmlr import SBMLR as SBMLR
from .svm import KernelSVM as KernelSVM
from .tagprop import TagProp as TagProp
from .topic_mixture import TopicMixture as TopicMixture
from .tsvm import TransductiveSVM as TransductiveSVM
