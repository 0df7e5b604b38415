"""A stranger's plugin. It knows `kinetic_core.plugin` and the runner's command line, and nothing else of ours."""
