internal import CCrypto

/// Incremental SHA-256 by libcrypto, for content whose integrity must withstand forgery.
package struct SHA256: ~Copyable {
    /// Length of a hash, in bytes.
    package static let length = 32

    private let context: OpaquePointer

    /// Creates a hasher without input.
    package init() {
        guard let context = EVP_MD_CTX_new() else {
            preconditionFailure("There is no memory for a hash.")
        }
        self.context = context
        Self.check(EVP_DigestInit_ex(context, EVP_sha256(), nil))
    }

    deinit {
        EVP_MD_CTX_free(context)
    }

    /// Returns the hash of `bytes`.
    package static func hash(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
        var hash = SHA256()
        hash.update(bytes)
        return hash.finish()
    }

    /// Appends input.
    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        Self.check(EVP_DigestUpdate(context, bytes.baseAddress, bytes.count))
    }

    /// Appends input.
    package mutating func update(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { update($0) }
    }

    /// Returns the hash of all input.
    package consuming func finish() -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: Self.length) { bytes, count in
            Self.check(EVP_DigestFinal_ex(context, bytes.baseAddress, nil))
            count = Self.length
        }
    }

    /// SHA-256 of bytes in memory fails only if the installed library lacks it.
    private static func check(_ result: CInt) {
        precondition(result == 1, "The installed libcrypto has no SHA-256.")
    }
}
