package import SheafBytes

/// A protocol violation by a peer, which ends the connection.
package enum WireError: Error, Equatable, Sendable {
    /// The announced length of a frame exceeds the limit.
    case frameTooLong(length: UInt64, limit: Int)
    /// A frame without a type.
    case frameEmpty
    /// The checksum does not match: the frame was altered, lost, repeated or reordered.
    case checksum(frame: UInt64)
    /// An unknown frame type.
    case unknownType(UInt8)
    /// The body of a frame does not decode.
    case malformed(Malformed)
    /// A frame that the protocol does not allow in the current state.
    case outOfOrder(String)
}

extension WireError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .frameTooLong(let length, let limit):
            "a frame of \(length) bytes; maximum is \(limit)"
        case .frameEmpty: "a frame has no type"
        case .checksum(let frame): "checksum mismatch in frame \(frame)"
        case .unknownType(let type): "unknown frame type \(type)"
        case .malformed(let reason): "malformed frame body: \(reason)"
        case .outOfOrder(let what): "protocol violation: \(what)"
        }
    }
}
