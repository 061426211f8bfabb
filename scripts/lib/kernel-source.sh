source_config_is_current() { return 0; }
