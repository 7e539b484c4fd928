import SheafBytes
import SheafTransport

/// The encoding of a grant (`format-spec/network.md`, table 4).
extension PeerGrant {
    private static let magic = Array("SHGR".utf8)
    private static let version: UInt8 = 1
    /// The prefix of the signed bytes, which separates grants from other uses of the key.
    private static let context = Array("sheaf grant 1\0".utf8)

    static func signed(_ statement: [UInt8]) -> [UInt8] { context + statement }

    static func statement(
        authority: PeerKey, databaseID: DatabaseID, peerKey: PeerKey,
        validMilliseconds: Range<UInt64>, rights: PeerRights?
    ) -> [UInt8] {
        var writer = ByteWriter(capacity: 256)
        writer.write(magic)
        writer.write(version)
        writer.write(authority.bytes)
        writer.write(databaseID.bytes)
        writer.write(peerKey.bytes)
        writer.write(validMilliseconds.lowerBound)
        writer.write(validMilliseconds.upperBound)
        writer.write(rights == nil ? UInt8(0) : 1)
        if let rights {
            for conditions in [rights.read, rights.write] { writer.write(conditions) }
        }
        return writer.bytes
    }

    static func decoded(_ bytes: [UInt8]) throws(NetworkError) -> PeerGrant {
        guard bytes.count <= maximumLength else {
            throw NetworkError(
                .grant, "a grant of \(bytes.count) bytes; the maximum is \(maximumLength)")
        }
        let result = bytes.withUnsafeBytes { buffer -> Result<PeerGrant, Malformed> in
            var reader = ByteReader(buffer)
            do throws(Malformed) {
                return .success(try PeerGrant(from: &reader, bytes))
            } catch {
                return .failure(error)
            }
        }
        switch result {
        case .success(let grant): return grant
        case .failure(let error):
            throw NetworkError(.grant, "invalid grant: \(error)")
        }
    }

    private init(from reader: inout ByteReader, _ bytes: [UInt8]) throws(Malformed) {
        let magic = Array(try reader.readBytes(Self.magic.count))
        guard magic == Self.magic else {
            throw .invalid("not a grant", at: 0)
        }
        let version = try reader.readUInt8()
        guard version == Self.version else { throw .unexpected(version, at: reader.offset - 1) }
        let authority = PeerKey(unchecked: Array(try reader.readBytes(PeerKey.length)))
        let databaseID = DatabaseID(
            unchecked: Array(try reader.readBytes(DatabaseID.length)))
        let peerKey = PeerKey(unchecked: Array(try reader.readBytes(PeerKey.length)))
        let (first, end) = (try reader.readUInt64(), try reader.readUInt64())
        guard first <= end else { throw .invalid("an end before its start", at: reader.offset) }
        let flags = try reader.readUInt8()
        guard flags <= 1 else { throw .unexpected(flags, at: reader.offset - 1) }
        var rights: PeerRights?
        if flags == 1 {
            let read = try reader.readConditions()
            rights = PeerRights(read: read, write: try reader.readConditions())
        }
        _ = try reader.readBytes(Ed25519.signatureLength)
        guard reader.remaining == 0 else {
            throw .invalid("bytes after the signature", at: reader.offset)
        }
        self.init(
            authority: authority, databaseID: databaseID, peerKey: peerKey,
            validMilliseconds: first..<end, rights: rights, bytes: bytes)
    }
}

/// The text of a grant, which `sheaf grant` prints.
extension PeerGrant: CustomStringConvertible {
    private static let prefix = "grant:"

    /// The grant as text: `grant:` and the hexadecimal digits of its bytes.
    public var description: String { Self.prefix + bytes.hexadecimal }

    /// Parses the format of `description` without checking signature or validity; see `verify`.
    public init(_ text: String) throws {
        guard text.hasPrefix(Self.prefix),
            let bytes = [UInt8](hexadecimal: text.dropFirst(Self.prefix.count))
        else {
            throw NetworkError(.grant, "the text is not a grant as printed by 'sheaf grant'")
        }
        self = try PeerGrant.decoded(bytes)
    }
}

extension ByteWriter {
    /// Writes collections and their conditions, ordered by the UTF-8 bytes of the collection names.
    fileprivate mutating func write(_ conditions: [String: String]) {
        writeVarint(UInt64(conditions.count))
        let sorted = conditions.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
        for (collection, condition) in sorted {
            for text in [collection, condition] {
                writeVarint(UInt64(text.utf8.count))
                write(Array(text.utf8))
            }
        }
    }
}

extension ByteReader {
    /// Reads collections and their conditions, which must be in ascending order and unique.
    fileprivate mutating func readConditions() throws(Malformed) -> [String: String] {
        let start = offset
        let count = try readVarint()
        guard count <= UInt64(PeerGrant.maximumCollections) else {
            throw .tooLong(at: start, length: count, limit: UInt64(PeerGrant.maximumCollections))
        }
        var conditions: [String: String] = [:]
        var last: String?
        for _ in 0..<count {
            let start = offset
            let collection = try readText(limit: PeerGrant.maximumCollectionLength)
            let isInOrder = last?.utf8.lexicographicallyPrecedes(collection.utf8) ?? true
            guard isInOrder else { throw .invalid("collections out of order", at: start) }
            let condition = try readText(limit: PeerGrant.maximumConditionLength)
            // Swift compares strings by canonical equivalence, so names with different bytes may be
            // equal.
            guard conditions.updateValue(condition, forKey: collection) == nil else {
                throw .invalid("a duplicate collection", at: start)
            }
            last = collection
        }
        return conditions
    }

    private mutating func readText(limit: Int) throws(Malformed) -> String {
        let start = offset
        let bytes = try readLengthPrefixed(limit: limit)
        guard let text = String(validating: bytes, as: UTF8.self) else { throw .notText(at: start) }
        return text
    }
}
