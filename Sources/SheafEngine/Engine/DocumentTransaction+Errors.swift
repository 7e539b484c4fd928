import SheafBytes
package import SheafDocument
import SheafStorage

/// Conversion of edit errors to engine errors.
extension DocumentTransaction {
    package static func document(
        _ bytes: UnsafeRawBufferPointer
    ) throws(EditError) -> EncodedDocument {
        do throws(Malformed) { return try EncodedDocument(bytes) } catch {
            throw .malformed(error)
        }
    }

    func convertErrors<Result>(
        _ body: () throws(EditError) -> Result,
        orRefusing refusal: (Malformed) -> EngineError = { .edit(.malformed($0)) }
    ) throws(EngineError) -> Result {
        do throws(EditError) { return try body() } catch {
            throw Self.engineError(error, refusal)
        }
    }

    static func engineError(
        _ error: EditError, _ malformed: (Malformed) -> EngineError
    ) -> EngineError {
        if case .malformed(let reason) = error { malformed(reason) } else { .edit(error) }
    }
}
