/// An error with a one-line description for an operator: the fault, its place and the remedy.
package protocol OperatorError: Error, CustomStringConvertible {
    /// Whether the command line is wrong: exit code 64 instead of 1.
    var isUsage: Bool { get }
}

extension OperatorError {
    package var isUsage: Bool { false }

    /// 64 for a wrong command line, otherwise 1.
    package var exitCode: Int32 { isUsage ? 64 : 1 }
}
