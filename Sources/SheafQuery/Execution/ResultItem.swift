package import SheafDocument

/// A row of a result: a document that is decoded when somebody asks, or what was computed.
package struct ResultItem {
    package enum Content {
        /// In bytes that somebody keeps alive as long as the result.
        case stored(fields: EncodedObject, id: UnsafeRawBufferPointer)
        case object(Object)
    }

    package let content: Content
}
