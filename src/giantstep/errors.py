"""The errors a user can cause. Each message is one line: what was given, what would work."""


class GiantstepError(ValueError):
    """Something in the input cannot be used; the message says what and how to mend it."""


class TargetError(GiantstepError):
    """A target expression that cannot be read, or that has no finite second moment."""


class SettingsError(GiantstepError):
    """A setting of a learner that is out of range or does not go with another one."""


class NoTheory(GiantstepError):
    """There is no prediction for these settings. The message says what is covered."""
