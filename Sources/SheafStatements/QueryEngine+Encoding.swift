package import SheafDocument
import SheafEngine
import SheafQuery

/// Encoding of documents whose stamp is not known yet.
extension QueryEngine {
    /// Returns the document of an instance; nil if it needs `ValueEncoder`, or if the store is
    /// read-only.
    package func document<T: Encodable>(
        encoding source: T, _ coding: ValueCoding
    ) -> UnstampedDocument? {
        document { encoder, names in encoder.document(encoding: source, coding, names) }
    }

    /// Returns the document of an insertion, after encoding a JSON text; nil if the text cannot be
    /// encoded.
    func document(insertedBy insertion: FastPath.SingleInsertion) -> UnstampedDocument? {
        switch insertion.document {
        case .unstamped(let document): document
        case .json(let text): document { encoder, names in encoder.document(json: text, names) }
        }
    }

    private func document(
        _ encode: (inout NewDocumentEncoder, NameTable) -> UnstampedDocument?
    ) -> UnstampedDocument? {
        guard case .engine(let documents) = source else { return nil }
        let names = documents.newestCatalog.names
        return spareEncoder.use { encoder in encode(&encoder, names) }
    }
}
