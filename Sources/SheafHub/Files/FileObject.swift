import SheafAttachments
import SheafBytes
import SheafDocument
import SheafHubLog
import SheafReplication

/// An attachment in the object store of the engine: a head and parts, so that no object is long.
///
/// The head is written last. It has the length and the list of chunk hashes, which the id proves.
struct FileObject {
    let id: AttachmentID
    let list: ChunkList
    /// Number of chunks in each part but the last one.
    let chunksPerPart: Int

    init(_ id: AttachmentID, _ list: ChunkList, _ settings: HubSettings) {
        (self.id, self.list, chunksPerPart) = (id, list, settings.fileChunks)
    }

    var partCount: Int { (list.count + chunksPerPart - 1) / chunksPerPart }

    /// The chunks of a part.
    func chunks(of part: Int) -> Range<Int> {
        let start = part * chunksPerPart
        return start..<min(start + chunksPerPart, list.count)
    }

    /// The bytes of the head.
    var head: [UInt8] {
        var writer = ByteWriter(capacity: 8 + list.hashes.count)
        writer.write(UInt64(list.length))
        writer.write(list.hashes)
        return writer.bytes
    }

    /// Blocks, and returns the file with an id; nil if there is no head.
    static func load(
        _ id: AttachmentID, from objects: any HubObjects, _ settings: HubSettings
    ) throws(SnapshotFailure) -> FileObject? {
        let name = HubObjectName.file(id)
        let hashes = ChunkList.count(ofLength: ChunkList.maximumLength) * SHA256.length
        let bytes: [UInt8]
        do throws(SnapshotFailure) {
            bytes = try read(name, limit: 8 + hashes, from: objects)
        } catch .log(.missing) {
            return nil
        }
        guard bytes.count >= 8 else { throw damaged(name) }
        let length = bytes.prefix(8).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let list = ChunkList(length: Int(clamping: length), hashes: Array(bytes[8...]))
        guard let list, list.id == id else { throw damaged(name) }
        return FileObject(id, list, settings)
    }

    private static func read(
        _ name: String, limit: Int, from objects: any HubObjects
    ) throws(SnapshotFailure) -> [UInt8] {
        do throws(HubLogError) {
            return try objects.object(name, limit: limit)
        } catch {
            guard case .damaged = error else { throw .log(error) }
            throw .damaged(object: name, reason: "\(error)")
        }
    }

    private static func damaged(_ name: String) -> SnapshotFailure {
        .damaged(object: name, reason: "its length and hashes do not match the id in its name")
    }

    /// Blocks, and returns the chunks of a part, in order.
    func chunks(
        of part: Int, from objects: any HubObjects
    ) throws(SnapshotFailure) -> [(number: Int, bytes: ArraySlice<UInt8>)] {
        let name = HubObjectName.file(id, part: part)
        let chunks = chunks(of: part)
        let start = list.range(of: chunks.lowerBound).lowerBound
        let length = list.range(of: chunks.upperBound - 1).upperBound - start
        let bytes = try Self.read(name, limit: length, from: objects)
        guard bytes.count == length else {
            throw .damaged(
                object: name, reason: "it has \(bytes.count) bytes in place of \(length)")
        }
        var found: [(number: Int, bytes: ArraySlice<UInt8>)] = []
        for chunk in chunks {
            let range = list.range(of: chunk)
            let slice = bytes[(range.lowerBound - start)..<(range.upperBound - start)]
            guard slice.withUnsafeBytes({ list.matches($0, at: chunk) }) else {
                throw .damaged(object: name, reason: "chunk \(chunk) of the file has another hash")
            }
            found.append((chunk, slice))
        }
        return found
    }
}
