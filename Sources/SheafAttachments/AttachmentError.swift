import SheafBytes
package import SheafDocument
package import SheafStorage
package import SheafSystem

/// An error of the attachment files that documents reference.
package enum AttachmentError: Error, Equatable, Sendable {
    /// A call on a file or directory failed.
    case volume(VolumeError)
    /// The bytes of a file do not match its name.
    case damaged(StorageError.Damage)
    /// The file is not stored locally, or only in part.
    case missing(AttachmentID)
    /// Received chunk hashes do not match the id.
    case wrongList(AttachmentID)
    /// Received bytes do not match the hash of the chunk.
    case wrongChunk(AttachmentID, chunk: Int)
    /// The source of an attachment changed while it was added.
    case sourceChanged(String)
    /// The destination of a copy already exists.
    case destinationExists(String)
    /// A value exceeds a limit.
    case limit(name: String, value: Int, limit: Int)
    case readOnly
    case closed
    /// The task that added or read an attachment was canceled.
    case cancelled
}

extension AttachmentError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .volume(let error):
            error.code.meansFull
                ? "the disk is full: \(error); make room, and try again" : error.description
        case .damaged(let damage): "an attachment is damaged: \(damage)"
        case .missing(let id): "the attachment \(id) is not stored locally; fetch it first"
        case .wrongList(let id): "the received hashes do not match the attachment \(id)"
        case .wrongChunk(let id, let chunk):
            "the received bytes do not match chunk \(chunk) of the attachment \(id)"
        case .sourceChanged(let name):
            "\(name.shortened(to: ErrorText.limit)) was changed while it was read; add it again"
        case .destinationExists(let path):
            "the destination \(path.shortened(to: ErrorText.limit)) of the copy already exists; "
                + "remove it, or choose another path"
        case .limit(let name, let value, let limit):
            "\(name) is \(limit) bytes, but \(value) bytes are needed"
        case .readOnly: "the store was opened for reading only; open it for writing to change it"
        case .closed: "the store was closed"
        case .cancelled: "the task was canceled"
        }
    }
}

extension EvaluationStop {
    /// Throws if the work on an attachment must end.
    package func checkAttachment() throws(AttachmentError) {
        guard !isSet else { throw .cancelled }
    }
}

/// Runs calls on a volume and converts their errors.
package func onVolume<Value>(
    _ body: () throws(VolumeError) -> Value
) throws(AttachmentError) -> Value {
    do throws(VolumeError) { return try body() } catch { throw .volume(error) }
}

/// Runs a closure that decodes the header of a file, and adds the file to its errors.
func onHeader<Value>(
    of file: String, _ body: () throws(Malformed) -> Value
) throws(AttachmentError) -> Value {
    do throws(Malformed) { return try body() } catch {
        throw .damaged(StorageError.Damage(file: file, offset: error.offset, reason: "\(error)"))
    }
}

extension Malformed {
    /// The offset of the error.
    fileprivate var offset: Int {
        switch self {
        case .truncated(let offset), .varint(let offset), .compressed(let offset),
            .unexpected(_, let offset), .notText(let offset), .invalid(_, let offset),
            .tooDeep(let offset, _), .tooLong(let offset, _, _):
            offset
        }
    }
}
