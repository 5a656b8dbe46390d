// Package stub is a language-model endpoint on this machine: an HTTP handler
// that speaks OpenAI Chat Completions and Anthropic Messages, plain and
// streaming, and plays a script of answers and faults.
//
// It is strict. A request that the real endpoints refuse is refused here with
// the status and the error body of the wire that asked: an orphan result, a
// result out of place, a missing identifier, arguments that are no JSON
// object, thinking that is not what was issued, and so on. A refused request
// takes nothing from the script.
//
// A test, or the demonstration, starts one, says what it answers and looks at
// what it was asked:
//
//	srv, err := stub.Start(stub.Options{})
//	defer srv.Close()
//	srv.Play(
//		stub.Calls(stub.Call{ID: "call_1", Name: "multiply", Args: `{"a":248,"b":15}`}),
//		stub.Text("248 × 15 = 3720"),
//	)
//	// … a client talks to srv.OpenAIURL() or srv.AnthropicURL() …
//	srv.Requests()[1].Messages
//
// The package does not import testing and keeps no state outside its values.
package stub
