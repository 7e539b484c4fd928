package import SheafAttachments

/// A new state of an attachment fetch.
package enum FetchUpdate: Sendable {
    case progress(received: Int, length: Int)
    case complete(length: Int)
    case failed(AttachmentError)
}
