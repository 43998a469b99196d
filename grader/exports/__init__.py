"""Results in the forms that learning platforms take: one room a platform."""
