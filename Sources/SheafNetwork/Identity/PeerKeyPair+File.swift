import COpenSSL
import SheafBytes

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

extension PeerKeyPair {
    /// The PKCS #8 header, which is the same for all Ed25519 secret keys.
    private static let prefix: [UInt8] = [
        0x30, 0x2E, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2B, 0x65, 0x70, 0x04, 0x22, 0x04,
        0x20,
    ]
    private static let firstLine = "-----BEGIN PRIVATE KEY-----"
    private static let lastLine = "-----END PRIVATE KEY-----"
    /// Maximum length of a key file; a valid one has about 120 bytes.
    private static let maximumFileLength = 4_096

    /// Writes the key pair to a new file that only its owner can read.
    ///
    /// The format is that of `openssl genpkey -algorithm ed25519`. An existing file is never
    /// overwritten: without its key a peer loses its identity.
    public func save(to path: String) throws {
        var text = pem()
        defer { OPENSSL_cleanse(&text, text.count) }
        let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard file >= 0 else {
            throw NetworkError(
                .keyFile,
                "cannot create \(path.shortened(to: ErrorText.limit)): \(systemMessage()); the file must not exist"
            )
        }
        defer { close(file) }
        var sent = 0
        // The umask can remove permissions from the mode passed to `open`, so it is set again.
        var isWritten = fchmod(file, 0o600) == 0
        while isWritten, sent < text.count {
            let count = text.withUnsafeBytes {
                write(file, $0.baseAddress.map { $0 + sent }, $0.count - sent)
            }
            if count < 0, errno == EINTR { continue }
            isWritten = count > 0
            sent += max(count, 0)
        }
        guard isWritten, fsync(file) == 0 else {
            let message = systemMessage()
            unlink(path)
            throw NetworkError(
                .keyFile, "cannot write \(path.shortened(to: ErrorText.limit)): \(message)")
        }
    }

    /// Reads a key pair from a file that only its owner can read.
    public static func load(from path: String) throws -> PeerKeyPair {
        let file = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
        guard file >= 0 else {
            throw NetworkError(
                .keyFile,
                "cannot open \(path.shortened(to: ErrorText.limit)): \(systemMessage())")
        }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw NetworkError(
                .keyFile, "\(path.shortened(to: ErrorText.limit)) is not a regular file")
        }
        guard status.st_mode & 0o077 == 0 else {
            throw NetworkError(
                .keyFile,
                "\(path.shortened) has the mode \(String(status.st_mode & 0o777, radix: 8)), so other users can access "
                    + "the key; it must be 600 (chmod 600 \(path.shortened))")
        }
        guard status.st_uid == geteuid() else {
            throw NetworkError(
                .keyFile,
                "\(path.shortened(to: ErrorText.limit)) is owned by user \(status.st_uid); the owner must be user \(geteuid())"
            )
        }
        var bytes = [UInt8](repeating: 0, count: maximumFileLength)
        defer { OPENSSL_cleanse(&bytes, bytes.count) }
        var length = 0
        while length < bytes.count {
            let count = bytes.withUnsafeMutableBytes {
                read(file, $0.baseAddress.map { $0 + length }, $0.count - length)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            length += count
        }
        guard let key = try key(in: bytes[..<length]) else {
            throw NetworkError(
                .keyFile,
                "\(path.shortened(to: ErrorText.limit)) is not an Ed25519 key as written by `openssl genpkey -algorithm ed25519` "
                    + "without a password")
        }
        return key
    }

    /// Reads the key pair of a file, or writes a new one to it if there is no such file.
    public static func loadOrGenerate(at path: String) throws -> PeerKeyPair {
        if access(path, F_OK) != 0, errno == ENOENT {
            let keyPair = try generate()
            try keyPair.save(to: path)
            return keyPair
        }
        return try load(from: path)
    }

    private func pem() -> [UInt8] {
        var plain = Self.prefix + secret.withBytes { Array($0) }
        defer { OPENSSL_cleanse(&plain, plain.count) }
        // Base64 has four characters for three bytes; OpenSSL appends a NUL.
        var letters = [UInt8](repeating: 0, count: plain.count / 3 * 4 + 1)
        EVP_EncodeBlock(&letters, plain, Int32(plain.count))
        letters.removeLast()
        return Array("\(Self.firstLine)\n".utf8) + letters + Array("\n\(Self.lastLine)\n".utf8)
    }

    private static func key(in text: ArraySlice<UInt8>) throws -> PeerKeyPair? {
        let lines = text.split(separator: 0x0A, omittingEmptySubsequences: false)
        guard lines.count == 4, lines[3].isEmpty, Array(lines[0]) == Array(firstLine.utf8),
            Array(lines[2]) == Array(lastLine.utf8), lines[1].count == 64
        else { return nil }
        var plain = [UInt8](repeating: 0, count: 48)
        defer { OPENSSL_cleanse(&plain, plain.count) }
        let count = EVP_DecodeBlock(&plain, Array(lines[1]), 64)
        guard count == 48, Array(plain.prefix(prefix.count)) == prefix else { return nil }
        return try PeerKeyPair(seed: Array(plain.suffix(Ed25519.keyLength)))
    }
}

/// Returns the system's message for an error number.
func systemMessage(_ code: Int32 = errno) -> String {
    String(cString: strerror(code))
}
