from .client import RemoteProject as RemoteProject, connect as connect
from .core.annotator import Annotator as Annotator
from .core.folds import LabeledKFold as LabeledKFold, label_budget as label_budget
from .core.groups import FeatureGroups as FeatureGroups
from .core.keywords import Keyword as Keyword
from .core.vocabulary import TagVocabulary as TagVocabulary
from .methods import (
    FSNM as FSNM,
    GLLR as GLLR,
    JEC as JEC,
    LPP as LPP,
    LPPSVM as LPPSVM,
    LPSSVM as LPSSVM,
    M3L as M3L,
    NOVA as NOVA,
    SBMLR as SBMLR,
    SFSS as SFSS,
    TKML as TKML,
    BoostedAnnotator as BoostedAnnotator,
    CurdsAndWhey as CurdsAndWhey,
    FisherScore as FisherScore,
    HarmonicPropagation as HarmonicPropagation,
    KernelSVM as KernelSVM,
    LaplacianTopicModel as LaplacianTopicModel,
    LapRLS as LapRLS,
    LapSVM as LapSVM,
    LocalGlobalConsistency as LocalGlobalConsistency,
    MultipleKernelSVM as MultipleKernelSVM,
    NeighborTransfer as NeighborTransfer,
    PLSAWords as PLSAWords,
    RegularizedLeastSquares as RegularizedLeastSquares,
    TagProp as TagProp,
    TopicMixture as TopicMixture,
    TransductiveSVM as TransductiveSVM,
)
from .project.project import Project as Project
from .tuning.auto.annotator import AutoAnnotator as AutoAnnotator
