#ifndef SHEAF_NATS_SHIM_H
#define SHEAF_NATS_SHIM_H
#include <nats/nats.h>
#endif
