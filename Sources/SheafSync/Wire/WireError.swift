package import SheafBytes

/// Why a connection is ended: what a peer sent is not what the protocol says.
package enum WireError: Error, Equatable, Sendable {
    /// A frame is longer than it may be, by the length that it begins with.
    case frameTooLong(length: UInt64, limit: Int)
    /// A frame without a type.
    case frameEmpty
    /// The checksum does not fit: something was changed, lost, repeated or put in another order.
    case checksum(frame: UInt64)
    /// No such type is known.
    case unknownType(UInt8)
    /// The body of a frame is not what its type says.
    case malformed(Malformed)
    /// A frame that cannot come now.
    case outOfOrder(String)
}

extension WireError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .frameTooLong(let length, let limit):
            "a frame says that it has \(length) bytes; \(limit) are allowed"
        case .frameEmpty: "a frame has no type"
        case .checksum(let frame): "the checksum of frame \(frame) does not fit what came"
        case .unknownType(let type): "no frame has the type \(type)"
        case .malformed(let reason): "the body of a frame cannot be read: \(reason)"
        case .outOfOrder(let what): "\(what) cannot come here"
        }
    }
}
