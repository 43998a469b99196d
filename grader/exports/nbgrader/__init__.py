"""nbgrader: our scores in its gradebook, with no notebook run in a kernel of the instructor's.

nbgrader itself is imported by those modules alone that work inside of it.
"""
