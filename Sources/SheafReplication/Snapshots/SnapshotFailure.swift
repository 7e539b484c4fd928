package import SheafAttachments
import SheafBytes
package import SheafDocument
package import SheafEngine
package import SheafHubLog

/// A snapshot that could not be written, verified or loaded.
package enum SnapshotFailure: Error, Equatable, Sendable {
    /// The store could not be read or written.
    case store(EngineError)
    /// The engine of the hub log refused a request, or did not respond.
    case log(HubLogError)
    /// A stored attachment could not be read or written.
    case file(AttachmentError)
    /// An object is not what its name, or the manifest, states.
    case damaged(object: String, reason: String)
    /// The shard has more documents than a manifest can list.
    case tooLarge(parts: Int)
    /// Documents were written at times that are too far ahead of the clock of this hub.
    case clock(DocumentAddress)
    /// The configuration of the hubs cannot be used.
    case configuration(String)
    /// The hub stops.
    case stopped
}

extension SnapshotFailure: CustomStringConvertible {
    package var description: String {
        switch self {
        case .store(let error): "\(error)"
        case .log(let error): "\(error)"
        case .file(let error): "\(error)"
        case .damaged(let object, let reason): "\(object) is damaged: \(reason)"
        case .tooLarge(let parts):
            "the snapshot has \(parts) parts, more than the \(HubLimits.snapshotParts) allowed; "
                + "use more shards"
        case .clock(let address):
            "a document of the collection \(address.collection.shortened) was written at a time "
                + "that is too far ahead of the clock of this computer; set the clock"
        case .configuration(let reason): reason
        case .stopped: "the hub stops"
        }
    }
}

/// Runs `body`, and throws its errors as those of a snapshot.
func onSnapshotStore<Result>(
    _ body: () throws(EngineError) -> Result
) throws(SnapshotFailure) -> Result {
    do throws(EngineError) { return try body() } catch { throw .store(error) }
}

/// Runs `body`, and throws its errors as those of a snapshot.
func onSnapshotLog<Result>(
    _ body: () throws(HubLogError) -> Result
) throws(SnapshotFailure) -> Result {
    do throws(HubLogError) { return try body() } catch { throw .log(error) }
}
