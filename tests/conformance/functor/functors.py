def twice(x):
    return 2 * x


def joined(text, number):
    return f"{text}{number}"
