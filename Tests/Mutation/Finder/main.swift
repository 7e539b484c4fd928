import Foundation
import SwiftOperators
import SwiftParser
import SwiftSyntax

// Prints the sites of Swift files, one JSON object on each line. Arguments: the directory of the
// package, then the conditions of `#if` that are true. Standard input: paths relative to it.
let root = CommandLine.arguments[1]
let conditions = Set(CommandLine.arguments.dropFirst(2))
let encoder = JSONEncoder()
encoder.outputFormatting = .sortedKeys
while let path = readLine() {
    let source = try String(contentsOfFile: "\(root)/\(path)", encoding: .utf8)
    let parsed = Parser.parse(source: source)
    // Operators unknown to the standard library stay unfolded; they have no mutants.
    let tree = OperatorTable.standardOperators.foldAll(parsed) { _ in }
    let finder = SiteFinder(path: path, tree: tree, conditions: conditions)
    finder.walk(tree)
    for site in finder.sites {
        FileHandle.standardOutput.write(try encoder.encode(site) + Data("\n".utf8))
    }
}
