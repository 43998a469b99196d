"""From behaviour to words: what a wrong answer looks like, and a question to think about.

No wrong code and no right code is kept here: the library is asked altered questions (another
scale, the mask turned round, key and value exchanged...) and its answers are compared.
"""

from tests.diagnosis.diagnose import diagnose

__all__ = ["diagnose"]
