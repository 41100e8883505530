#ifndef COMMON
#define COMMON
#define SIZE 6
#endif
