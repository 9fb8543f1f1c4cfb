"""`KnowledgeEngine`, in parts by what its methods are about."""

from .engine import KnowledgeEngine as KnowledgeEngine
