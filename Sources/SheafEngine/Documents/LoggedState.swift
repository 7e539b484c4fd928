package import SheafBytes
import SheafDocument
package import SheafStorage

/// The state of a document in a single operation of the log.
///
/// Its bytes are valid as long as the snapshot that they were read from.
package struct LoggedState: Sendable {
    package nonisolated(unsafe) let bytes: UnsafeRawBufferPointer

    /// Reads the state of a put.
    package init(_ put: Operation) throws(Malformed) {
        let payload = put.payload
        var state = try DocumentPayload.plainState(payload)
        if state == nil { state = try DocumentPayload(payload).state }
        guard let state else { throw .invalid("a delta without a state", at: 0) }
        bytes = state.bytes
    }
}
