package import SheafDocument
import SheafEngine
import SheafQuery

/// Encoding of documents whose stamp is not known yet.
extension QueryEngine {
    /// Whether encoded documents are inserted as they are: in strict mode, and with default
    /// directives, each insertion needs a plan.
    package var insertsEncodedDocuments: Bool {
        let parameters = parameters
        return parameters.hasNoDefaultDirectives && !parameters.values.isStrict
    }

    /// Returns the document of an instance; nil if it needs `ValueEncoder`, if its id needs a plan,
    /// or if the store is read-only.
    package func document<T: Encodable>(
        encoding source: T, _ coding: ValueCoding
    ) -> UnstampedDocument? {
        let document = document { encoder, names in
            encoder.document(encoding: source, coding, names)
        }
        guard document?.id?.isFoundAlone ?? true else { return nil }
        return document
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
