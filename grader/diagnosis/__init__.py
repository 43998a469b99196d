"""From a failed check to words that name the likely thought behind a mistake."""
