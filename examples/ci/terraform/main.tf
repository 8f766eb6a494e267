# Terraform 1.5 or OpenTofu. A node of `label` for `ttl` seconds
terraform {
  required_version = ">= 1.5"
  required_providers {
    external = {
      source  = "hashicorp/external"
      version = "~> 2.3"
    }
  }
}

variable "label" {
  type    = string
  default = "small"
}

variable "ttl" {
  type    = number
  default = 14400
}

resource "terraform_data" "lease" {
  triggers_replace = [var.label, var.ttl]

  provisioner "local-exec" {
    command     = "exec sh \"$LEASE_PROGRAM\" create"
    environment = { LEASE_PROGRAM = "${path.module}/lease.sh", LEASE_KEY = self.id, LEASE_LABEL = var.label, LEASE_TTL = var.ttl }
  }

  provisioner "local-exec" {
    when        = destroy
    command     = "exec sh \"$LEASE_PROGRAM\" release"
    environment = { LEASE_PROGRAM = "${path.module}/lease.sh", LEASE_KEY = self.id }
  }
}

data "external" "node" {
  program = ["sh", "${path.module}/lease.sh", "find"]
  query   = { key = terraform_data.lease.id }
}

check "lease" {
  assert {
    condition     = data.external.node.result.state == "active"
    error_message = "The lease is over. For a new one: terraform apply -replace=terraform_data.lease"
  }
}

# id, state, host, port, username, known_hosts
output "node" {
  value = data.external.node.result
}
