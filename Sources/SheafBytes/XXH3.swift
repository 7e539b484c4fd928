import CXXHash

/// The hash function of the checksums on disk and on the wire; not secure against forgery.
package enum XXH3 {
    /// A 128-bit hash.
    package struct Hash128: Hashable, Sendable {
        package let low: UInt64
        package let high: UInt64

        package init(low: UInt64, high: UInt64) {
            self.low = low
            self.high = high
        }
    }

    /// Returns the 64-bit hash of `bytes`.
    package static func hash64(_ bytes: UnsafeRawBufferPointer, seed: UInt64 = 0) -> UInt64 {
        sheaf_xxh3_64(bytes.baseAddress, UInt(bytes.count), seed)
    }

    /// Returns the 128-bit hash of `bytes`.
    package static func hash128(_ bytes: UnsafeRawBufferPointer, seed: UInt64 = 0) -> Hash128 {
        let hash = sheaf_xxh3_128(bytes.baseAddress, UInt(bytes.count), seed)
        return Hash128(low: hash.low64, high: hash.high64)
    }

    /// Incremental 64-bit hash.
    package struct Stream: ~Copyable {
        private let state: UnsafeMutableRawPointer

        /// Creates a hasher without input.
        package init() {
            guard let state = sheaf_xxh3_stream_create() else {
                preconditionFailure("The hash state needs half a kibibyte of memory.")
            }
            self.state = state
        }

        deinit {
            sheaf_xxh3_stream_free(state)
        }

        /// Appends input.
        package mutating func update(_ bytes: UnsafeRawBufferPointer) {
            sheaf_xxh3_stream_update(state, bytes.baseAddress, UInt(bytes.count))
        }

        /// Returns the hash of all input so far; more input may follow.
        package func finish() -> UInt64 {
            sheaf_xxh3_stream_digest(state)
        }
    }
}
