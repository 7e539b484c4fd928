public import Foundation
import Sheaf

/// A local attachment; as an argument of a statement it becomes its token.
public final class DittoAttachment: Sendable {
    private let attachment: StoredAttachment

    init(_ attachment: StoredAttachment) {
        self.attachment = attachment
    }

    /// The identifier of the attachment, a hash of its bytes.
    public var id: String { attachment.id.description }
    /// The length in bytes.
    public var len: UInt64 { UInt64(attachment.length) }
    /// The metadata passed when it was created.
    public var metadata: [String: String] { attachment.metadata }
    /// The token stored in documents.
    public var token: DittoAttachmentToken { DittoAttachmentToken(attachment.token) }

    /// Returns the bytes of the attachment; blocks the thread.
    public func data() throws -> Data {
        let attachment = attachment
        return try waiting { Data(try await attachment.data()) }
    }

    /// Copies the attachment to a new file at `path`, which must not exist; blocks the thread.
    public func copy(toPath path: String) throws {
        let attachment = attachment
        try waiting { try await attachment.copy(to: path) }
    }
}

/// The reference to an attachment that a document contains.
public struct DittoAttachmentToken: Hashable, Sendable {
    let token: AttachmentToken

    init(_ token: AttachmentToken) {
        self.token = token
    }

    /// Parses the value of an ATTACHMENT field.
    public init(_ value: [String: Any?]) throws {
        let object: Object
        do throws(Unbridgeable) {
            object = try Object(bridging: value)
        } catch {
            throw DittoError.storeError(
                reason: .attachmentTokenInvalid(message: "the token \(error)"))
        }
        do {
            token = try AttachmentToken(.object(object))
        } catch {
            throw DittoError.storeError(reason: .attachmentTokenInvalid(message: "\(error)"))
        }
    }

    /// The identifier of the attachment.
    public var id: String { token.id.description }
    /// The length in bytes.
    public var len: UInt64 { UInt64(token.length) }
    /// The metadata passed when it was created.
    public var metadata: [String: String] { token.metadata }
}
