"""The wall: a host with no secrets, the workers it forks, and what confines them. Never ships."""
