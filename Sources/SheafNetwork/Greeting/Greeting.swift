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
    /// Maximum number of bytes of the metadata that follow a greeting.
    package static let maximumMetadataLength = 4_096

    package var mode: UInt8
    /// Why the sender goes away; nil where he stays.
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

    /// A farewell in the place of a greeting.
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
            throw NetworkError(.greeting, "the first bytes are no greeting of this protocol")
        }
        mode = bytes[Layout.mode]
        guard mode <= 2 else {
            throw NetworkError(.greeting, "the mode \(mode) in a greeting; it has to be 0 to 2")
        }
        let code = bytes[Layout.refusal]
        refusal = Refusal(rawValue: code)
        guard code == 0 || refusal != nil else {
            throw NetworkError(.greeting, "the refusal \(code) in a greeting, which there is not")
        }
        grantLength = Self.length(in: bytes, at: Layout.grantLength)
        guard grantLength <= PeerGrant.maximumLength else {
            throw NetworkError(
                .greeting,
                "a grant of \(grantLength) bytes is announced; it may have "
                    + "\(PeerGrant.maximumLength)")
        }
        guard (grantLength > 0) == (mode == 2 && refusal == nil) else {
            throw NetworkError(
                .greeting, "a grant belongs to the mode authority, and to no other")
        }
        databaseProof = Array(bytes[Layout.databaseProof..<Layout.secretProof])
        secretProof = Array(bytes[Layout.secretProof..<Layout.metadataLength])
        metadataLength = Self.length(in: bytes, at: Layout.metadataLength)
        guard metadataLength <= Self.maximumMetadataLength else {
            throw NetworkError(
                .greeting,
                "metadata of \(metadataLength) bytes is announced; it may have "
                    + "\(Self.maximumMetadataLength)")
        }
        guard metadataLength == 0 || refusal == nil else {
            throw NetworkError(.greeting, "a refusal has no metadata")
        }
    }

    private static func length(in bytes: [UInt8], at offset: Int) -> Int {
        Int(bytes[offset]) | Int(bytes[offset + 1]) << 8
    }

    /// Why a greeting is not answered by one (`format-spec/network.md`, table 3).
    package enum Refusal: UInt8, Sendable, CaseIterable {
        case greeting = 1
        case mode = 2
        case database = 3
        case sharedKey = 4
        case grant = 5
        case grantTime = 6
        case duplicate = 7
        case host = 8

        /// What is said of a rule that was broken; nil where nothing is.
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

        /// What people are told at the other end.
        var text: String {
            switch self {
            case .greeting: "it does not understand the greeting"
            case .mode: "it is in another mode (development, shared key, authority)"
            case .database: "it is of another database"
            case .sharedKey: "it has another shared key"
            case .grant: "the grant of this end does not hold there"
            case .grantTime: "the grant of this end is not valid at this time"
            case .duplicate: "it has a better connection with this end"
            case .host: "it does not want this end"
            }
        }
    }
}
