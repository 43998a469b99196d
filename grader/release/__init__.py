"""What students start from: stubs, notebooks and bundles, and the proof that they tell no answer."""
