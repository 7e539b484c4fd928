// The hash is compiled in: a call into the library costs as much as the hash of a small record.
#ifndef SHEAF_CXXHASH_SHIM_H
#define SHEAF_CXXHASH_SHIM_H
#define XXH_INLINE_ALL
#include <xxhash.h>

static inline unsigned long long sheaf_xxh3_64(
    const void *bytes, unsigned long length, unsigned long long seed) {
    return seed == 0 ? XXH3_64bits(bytes, length) : XXH3_64bits_withSeed(bytes, length, seed);
}

static inline XXH128_hash_t sheaf_xxh3_128(
    const void *bytes, unsigned long length, unsigned long long seed) {
    return XXH3_128bits_withSeed(bytes, length, seed);
}

// The state of a hash in pieces travels as an opaque pointer: the library's type does not import.
static inline void *sheaf_xxh3_stream_create(void) {
    XXH3_state_t *state = XXH3_createState();
    if (state) XXH3_64bits_reset(state);
    return state;
}

static inline void sheaf_xxh3_stream_free(void *state) { XXH3_freeState((XXH3_state_t *)state); }

static inline void sheaf_xxh3_stream_update(void *state, const void *bytes, unsigned long length) {
    XXH3_64bits_update((XXH3_state_t *)state, bytes, length);
}

static inline unsigned long long sheaf_xxh3_stream_digest(const void *state) {
    return XXH3_64bits_digest((const XXH3_state_t *)state);
}
#endif
