from .baselines.fisher_score import FisherScore as FisherScore
from .baselines.fsnm import FSNM as FSNM
from .baselines.gllr import GLLR as GLLR
from .baselines.jec import JEC as JEC
from .baselines.laprls import LapRLS as LapRLS
from .baselines.lapsvm import LapSVM as LapSVM
from .baselines.least_squares import RegularizedLeastSquares as RegularizedLeastSquares
from .baselines.lpp import LPP as LPP, LPPSVM as LPPSVM
from .baselines.m3l import M3L as M3L
from .baselines.mkl import MultipleKernelSVM as MultipleKernelSVM
from .baselines.neighbor_transfer import NeighborTransfer as NeighborTransfer
from .baselines.plsa_words import PLSAWords as PLSAWords
from .baselines.propagation import (
    HarmonicPropagation as HarmonicPropagation,
    LocalGlobalConsistency as LocalGlobalConsistency,
)
from .baselines.sbmlr import SBMLR as SBMLR
from .baselines.svm import KernelSVM as KernelSVM
from .baselines.tagprop import TagProp as TagProp
from .baselines.topic_mixture import TopicMixture as TopicMixture
from .baselines.tsvm import TransductiveSVM as TransductiveSVM
from .boosted import BoostedAnnotator as BoostedAnnotator
from .checks import check_annotator as check_annotator
from .curds_and_whey import CurdsAndWhey as CurdsAndWhey
from .lpssvm import LPSSVM as LPSSVM
from .nova import NOVA as NOVA
from .sfss import SFSS as SFSS
from .tkml import TKML as TKML
from .topics import LaplacianTopicModel as LaplacianTopicModel
