// SPDX-License-Identifier: MIT
// How the programs that files were written for read them: kubectl's YAML and kubeconfigs, BuildKit's Dockerfiles, moby's
// ignore files. reads MODE <PATHS: a line "PATH<tab>JSON" for each path of the standard input.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	kubeyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"
)

type result map[string]any

// Splits and decodes as kubectl does. twice: a strict reader finds more to complain of.
func readYAML(path string) result {
	file, err := os.Open(path)
	if err != nil {
		return result{"error": err.Error()}
	}
	defer file.Close()
	documents, twice := []json.RawMessage{}, false
	for reader := kubeyaml.NewYAMLReader(bufio.NewReader(file)); ; {
		text, err := reader.Read()
		if err == io.EOF {
			return result{"documents": documents, "twice": twice}
		}
		if err != nil {
			return result{"error": err.Error()}
		}
		one, err := yaml.YAMLToJSON(text)
		if err != nil {
			return result{"error": err.Error()}
		}
		_, err = yaml.YAMLToJSONStrict(text)
		twice = twice || err != nil
		if string(one) != "null" {
			documents = append(documents, one)
		}
	}
}

func readKubeconfig(path string) result {
	if _, err := clientcmd.LoadFromFile(path); err != nil {
		return result{"error": err.Error()}
	}
	return result{}
}

var modes = map[string]func(string) result{"yaml": readYAML, "kubeconfig": readKubeconfig,
	"dockerfile": readDockerfile, "words": readWords, "ignore": readIgnore}

func main() {
	read, found := modes[strings.Join(os.Args[1:], " ")]
	if !found {
		fmt.Fprintln(os.Stderr, "usage: reads yaml|kubeconfig|dockerfile|words|ignore <PATHS")
		os.Exit(2)
	}
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for paths := bufio.NewScanner(os.Stdin); paths.Scan(); {
		line, err := json.Marshal(read(paths.Text()))
		if err != nil {
			line, _ = json.Marshal(result{"error": err.Error()})
		}
		fmt.Fprintf(out, "%s\t%s\n", paths.Text(), line)
	}
}
