// The module of the C library lacks this header.
#ifdef __linux__
#include <sys/epoll.h>
#endif
