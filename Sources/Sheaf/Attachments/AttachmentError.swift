import SheafBytes
package import SheafStorage

/// What can go wrong with the files that documents name.
package enum AttachmentError: Error, Equatable, Sendable {
    /// The system refused a call on a file.
    case volume(VolumeError)
    /// Bytes of a file are not what its name says.
    case damaged(StorageError.Damage)
    /// The file is not here, or not all of it.
    case missing(AttachmentID)
    /// Hashes that somebody has sent do not make the id.
    case wrongList(AttachmentID)
    /// Bytes that somebody has sent are not those of the chunk.
    case wrongChunk(AttachmentID, chunk: Int)
    /// What was being added is not what it was at the beginning.
    case changed(String)
    /// There is something where the file was to be copied.
    case occupied(String)
    /// Something is larger than it may be.
    case limit(name: String, value: Int, limit: Int)
    case readOnly
    case closed
}

extension AttachmentError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .volume(let error):
            error.code.meansFull
                ? "the disk is full: \(error); make room, and try again" : error.description
        case .damaged(let damage): "an attachment is damaged: \(damage)"
        case .missing(let id): "the attachment \(id) is not here; it has to be fetched"
        case .wrongList(let id): "the hashes that were sent are not those of the attachment \(id)"
        case .wrongChunk(let id, let chunk):
            "the bytes that were sent are not those of chunk \(chunk) of the attachment \(id)"
        case .changed(let name):
            "\(name.shortened(to: ErrorText.limit)) was changed while it was read; add it again"
        case .occupied(let path):
            "an attachment is not copied to \(path.shortened(to: ErrorText.limit)), which exists; "
                + "remove what is there, or choose another path"
        case .limit(let name, let value, let limit):
            "\(value) is more than \(name) allows, which is \(limit)"
        case .readOnly: "the store was opened for reading only; open it for writing to change it"
        case .closed: "the store was closed"
        }
    }
}

/// Runs calls on a volume and lets their refusals out as those of attachments.
func onVolume<Value>(
    _ body: () throws(VolumeError) -> Value
) throws(AttachmentError) -> Value {
    do throws(VolumeError) { return try body() } catch { throw .volume(error) }
}

/// Runs what reads the head of a file.
func onHead<Value>(
    of file: String, _ body: () throws(Malformed) -> Value
) throws(AttachmentError) -> Value {
    do throws(Malformed) { return try body() } catch {
        throw .damaged(StorageError.Damage(file: file, offset: error.offset, reason: "\(error)"))
    }
}

extension Malformed {
    /// Where the mistake is.
    fileprivate var offset: Int {
        switch self {
        case .truncated(let offset), .varint(let offset), .compressed(let offset),
            .unexpected(_, let offset), .notText(let offset), .invalid(_, let offset),
            .tooDeep(let offset, _), .tooLong(let offset, _, _):
            offset
        }
    }
}
