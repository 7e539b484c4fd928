import SheafBytes

/// The reason why a Foundation value cannot be converted, and the path to it.
package struct Unbridgeable: Error, Equatable, CustomStringConvertible {
    enum Step: Equatable {
        case name(String)
        case index(Int)
    }

    /// The path from the outermost value.
    private(set) var path: [Step] = []
    let problem: String

    init(_ problem: String) {
        self.problem = problem
    }

    /// Returns the error as seen from the array or object that contains the value.
    func within(_ step: Step) -> Unbridgeable {
        var outer = self
        outer.path.insert(step, at: 0)
        return outer
    }

    package var description: String {
        var location = ""
        for step in path {
            switch step {
            case .name(let name): location += location.isEmpty ? name : ".\(name)"
            case .index(let index): location += "[\(index)]"
            }
        }
        return location.isEmpty ? problem : "\(location.shortened): \(problem)"
    }
}
