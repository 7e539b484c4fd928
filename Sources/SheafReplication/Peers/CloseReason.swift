package import SheafSync

/// The reason why a connection ended, for the log, the sync status and `explain-sync`.
package enum CloseReason: Sendable, Equatable {
    /// One side closed the connection with a close message.
    case ended(CloseMessage, isRemote: Bool)
    /// The transport lost the connection, for the given reason.
    case lost(String)
}

extension CloseReason: CustomStringConvertible {
    package var description: String {
        switch self {
        case .ended(let closeMessage, let isRemote):
            let text = closeMessage.text.isEmpty ? "\(closeMessage.code)" : closeMessage.text
            return (isRemote ? "the other side" : "this side") + " closed the connection: \(text)"
        case .lost(let reason): return reason
        }
    }
}
