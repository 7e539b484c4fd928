import COpenSSL

/// Secret bytes that are wiped on deallocation and never appear in a description.
final class Secret: Sendable {
    private nonisolated(unsafe) let bytes: UnsafeMutableRawBufferPointer

    /// Copies `source`.
    init(_ source: [UInt8]) {
        bytes = .allocate(byteCount: source.count, alignment: 1)
        bytes.copyBytes(from: source)
    }

    deinit {
        OPENSSL_cleanse(bytes.baseAddress, bytes.count)
        bytes.deallocate()
    }

    /// Calls `body` with the bytes, which are valid only during the call.
    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        body(UnsafeRawBufferPointer(bytes))
    }
}

/// A random key known to all peers of a database, for example from `openssl rand`.
public struct SharedKey: Sendable, CustomStringConvertible, CustomReflectable {
    /// Minimum number of bytes; 128 bits are too many for an exhaustive search.
    public static let minimumLength = 16
    /// Maximum number of bytes.
    public static let maximumLength = 1_024

    let secret: Secret

    /// Creates a key from random bytes; all peers must use the same bytes.
    public init(_ bytes: [UInt8]) throws {
        guard Self.minimumLength...Self.maximumLength ~= bytes.count else {
            throw NetworkError(
                .key,
                "a shared key of \(bytes.count) bytes; it must have "
                    + "\(Self.minimumLength) to \(Self.maximumLength) random bytes")
        }
        secret = Secret(bytes)
    }

    /// A fixed text; the key has none.
    public var description: String { "a shared key" }
    /// A mirror without contents.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
