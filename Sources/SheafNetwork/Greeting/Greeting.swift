import SheafBytes

/// The first bytes of each direction within TLS (`format-spec/network.md`, table 1).
package struct Greeting: Equatable, Sendable {
    package enum Layout {
        package static let magic = 0
        package static let mode = 4
        package static let refusal = 5
        package static let grantLength = 6
        package static let databaseProof = 8
        package static let secretProof = 40
        package static let metadataLength = 72
        package static let size = 74
    }

    package static let magic = Array("SHN2".utf8)
    /// Maximum length of the metadata that follow a greeting.
    package static let maximumMetadataLength = 4_096

    package var mode: UInt8
    /// The reason why the sender refuses the connection; nil if it does not.
    package var refusal: Refusal?
    package var grantLength: Int
    package var metadataLength: Int
    package var databaseProof: [UInt8]
    package var secretProof: [UInt8]

    package init(
        mode: UInt8, grantLength: Int, metadataLength: Int = 0, databaseProof: [UInt8],
        secretProof: [UInt8]
    ) {
        self.mode = mode
        refusal = nil
        self.grantLength = grantLength
        self.metadataLength = metadataLength
        self.databaseProof = databaseProof
        self.secretProof = secretProof
    }

    /// Creates a refusal, which is sent instead of a greeting.
    package init(refusing refusal: Refusal) {
        self.init(
            mode: 0, grantLength: 0, databaseProof: Self.noProof, secretProof: Self.noProof)
        self.refusal = refusal
    }

    package static let noProof = [UInt8](repeating: 0, count: Proof.length)

    package var bytes: [UInt8] {
        var writer = ByteWriter(capacity: Layout.size)
        writer.write(Self.magic)
        writer.write(mode)
        writer.write(refusal?.rawValue ?? 0)
        writer.write(UInt16(grantLength))
        writer.write(databaseProof)
        writer.write(secretProof)
        writer.write(UInt16(metadataLength))
        return writer.bytes
    }

    package init(decoding bytes: [UInt8]) throws(NetworkError) {
        guard bytes.count == Layout.size, Array(bytes[..<Layout.mode]) == Self.magic else {
            throw NetworkError(.greeting, "the first bytes are not a Sheaf greeting")
        }
        mode = bytes[Layout.mode]
        guard mode <= 2 else {
            throw NetworkError(.greeting, "the mode \(mode) in a greeting; it must be 0 to 2")
        }
        let code = bytes[Layout.refusal]
        refusal = Refusal(rawValue: code)
        guard code == 0 || refusal != nil else {
            throw NetworkError(.greeting, "the unknown refusal code \(code) in a greeting")
        }
        grantLength = Self.length(in: bytes, at: Layout.grantLength)
        guard grantLength <= PeerGrant.maximumLength else {
            throw NetworkError(
                .greeting,
                "a grant of \(grantLength) bytes is announced; the maximum is "
                    + "\(PeerGrant.maximumLength)")
        }
        guard (grantLength > 0) == (mode == 2 && refusal == nil) else {
            throw NetworkError(
                .greeting, "a greeting must have a grant in authority mode, and in no other mode")
        }
        databaseProof = Array(bytes[Layout.databaseProof..<Layout.secretProof])
        secretProof = Array(bytes[Layout.secretProof..<Layout.metadataLength])
        metadataLength = Self.length(in: bytes, at: Layout.metadataLength)
        guard metadataLength <= Self.maximumMetadataLength else {
            throw NetworkError(
                .greeting,
                "metadata of \(metadataLength) bytes is announced; the maximum is "
                    + "\(Self.maximumMetadataLength)")
        }
        guard metadataLength == 0 || refusal == nil else {
            throw NetworkError(.greeting, "a refusal must not have metadata")
        }
    }

    private static func length(in bytes: [UInt8], at offset: Int) -> Int {
        Int(bytes[offset]) | Int(bytes[offset + 1]) << 8
    }

    /// The reason for a refusal (`format-spec/network.md`, table 3).
    package enum Refusal: UInt8, Sendable, CaseIterable {
        case greeting = 1
        case mode = 2
        case database = 3
        case sharedKey = 4
        case grant = 5
        case grantTime = 6
        case duplicate = 7
        case host = 8

        /// Creates the refusal for a violated rule; nil if the peer is not informed of it.
        init?(_ rule: NetworkRule) {
            switch rule {
            case .greeting: self = .greeting
            case .mode: self = .mode
            case .database: self = .database
            case .sharedKey: self = .sharedKey
            case .grant, .grantKey, .grantDatabase, .grantAuthority, .grantSignature: self = .grant
            case .grantEarly, .grantExpired: self = .grantTime
            case .duplicate: self = .duplicate
            case .host: self = .host
            default: return nil
            }
        }

        /// The explanation in the error of the refused peer.
        var text: String {
            switch self {
            case .greeting: "it cannot decode the greeting"
            case .mode: "it uses another mode (development, shared key, authority)"
            case .database: "it belongs to another database"
            case .sharedKey: "it has another shared key"
            case .grant: "it does not accept the grant of this peer"
            case .grantTime: "the grant of this peer is not valid at this time"
            case .duplicate: "it keeps another connection to this peer"
            case .host: "its host refused the connection"
            }
        }
    }
}
