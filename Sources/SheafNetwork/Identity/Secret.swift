import COpenSSL

/// Bytes that nobody prints: they are in no description, and wiped when they go.
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

    /// How many bytes there are.
    var count: Int { bytes.count }

    /// Lends the bytes, for a call.
    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        body(UnsafeRawBufferPointer(bytes))
    }
}

/// A key that all peers of a database have; must be random, as `openssl rand` makes it.
public struct SharedKey: Sendable, CustomStringConvertible, CustomReflectable {
    /// 128 bits, which nobody tries out.
    public static let minimumLength = 16
    public static let maximumLength = 1_024

    let secret: Secret

    /// Takes random bytes that both sides have.
    public init(_ bytes: [UInt8]) throws {
        guard Self.minimumLength...Self.maximumLength ~= bytes.count else {
            throw NetworkError(
                .key,
                "a shared key of \(bytes.count) bytes: it has to have "
                    + "\(Self.minimumLength) to \(Self.maximumLength) random bytes")
        }
        secret = Secret(bytes)
    }

    public var description: String { "a shared key" }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
