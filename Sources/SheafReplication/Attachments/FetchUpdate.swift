package import SheafAttachments

/// The progress of an attachment fetch.
package enum FetchUpdate: Sendable {
    case progress(received: Int, length: Int)
    case complete(length: Int)
    case failed(AttachmentError)
}
