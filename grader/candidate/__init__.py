"""The wall: the only room that ever touches a student's code, and the one way to talk to it."""
