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

/// The columns of a result, in order; none where rows are whole documents.
package struct ColumnNames: Sendable {
    package let names: [String]?
}
